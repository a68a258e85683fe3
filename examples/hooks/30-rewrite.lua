-- Rewrite: jobs without a walltime get an hour, and short ones go to the queue `short`, if the site has one that takes jobs.

function on_submit(job)
  if not job.walltime then
    job.walltime = 3600
  end
  local short = site.queues.short
  if not job.queue and short and short.enabled and job.walltime <= 600 then
    job.queue = "short"
  end
  -- GPUs are asked for as our nodes name them
  if job.resources.gpu then
    job.resources.gpus = job.resources.gpu
  end
end
