-- One row for each group and minute, when the minute is over.
SELECT
  device_group,
  window.start AS minute,
  count(*) AS readings,
  round(avg(value) FILTER (WHERE abs(value - usual) <= 10), 3) AS average
FROM grouped
GROUP BY device_group, window(at, '1 minute')
