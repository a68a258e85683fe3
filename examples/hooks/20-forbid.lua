-- Forbid: jobs of more than a day belong in the queue `long`, and students stay below four hours.

local day = 24 * 3600

function on_submit(job)
  if job.walltime and job.walltime > day and job.queue ~= "long" then
    refuse("jobs of more than 24 hours go to the queue long: qsub -q long")
  end
  if job.group == "students" and job.walltime and job.walltime > 4 * 3600 then
    refuse("students may ask for 4 hours of walltime, and this job asks for " .. job.walltime // 3600)
  end
end

function on_modify(job, changes)
  if changes.walltime and changes.walltime > day and job.queue ~= "long" then
    refuse("a job in the queue " .. job.queue .. " can't have more than 24 hours")
  end
end
