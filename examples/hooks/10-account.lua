-- Default account: a job that names none is charged to the account of its group.

local accounts = { physics = "physics-2026", chemistry = "chem-base" }

function on_submit(job)
  if not job.account then
    job.account = accounts[job.group] or "general"
    log("account " .. job.account .. " for " .. job.user)
  end
end
