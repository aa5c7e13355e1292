-- A stream joined with a table at rest. The record's place in the log stays with the row.
SELECT r.id, r.device, d.device_group, r.at, r.value, d.usual, r._partition AS log_partition, r._offset AS log_offset
FROM readings r
JOIN devices d ON r.device = d.device
