-- A factor of the priority: jobs of the course come first in the hour before its deadline, and very wide jobs wait for the night.
-- It counts as priority_weight.hook says: qmgr -c 'set server priority_order = sum, priority_weight.hook = 10'

local course_ends = 1798794000 -- seconds since 1970

function priority_factor(job)
  if job.account == "course" and site.now > course_ends - 3600 and site.now < course_ends then
    return 100
  end
  local nodes = tonumber((job.resources.nodes or "1"):match("^%d+")) or 1
  local hour = site.now // 3600 % 24
  if nodes > 64 and hour >= 6 and hour < 20 then
    return -50
  end
  return 0
end
