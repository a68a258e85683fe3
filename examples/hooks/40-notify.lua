-- Notify: the operators hear of jobs of the project `urgent` that begin, and users of theirs that failed after an hour or more.

local operators = "operators"

function on_start(job)
  if job.project == "urgent" then
    notify(operators, "urgent job " .. job.id .. " started", job.name .. " of " .. job.user .. " runs on " .. job.exec_host)
  end
end

function on_end(job)
  if job.exit_status and job.exit_status ~= 0 then
    log("exit status " .. job.exit_status)
    if (job.seconds or 0) >= 3600 then
      notify(job.user, "job " .. job.id .. " failed", job.name .. " ran for " .. job.seconds // 60 .. " minutes, and ended with " .. job.exit_status)
    end
  end
end
