-- Before, "used" was the time in which a process of the user ran on the device, whatever its utilization.
ALTER TABLE usage RENAME COLUMN used TO present;

-- A process of the user ran on the device, and its utilization was above 0.
ALTER TABLE usage ADD COLUMN used INTEGER NOT NULL DEFAULT 0;

-- A process of the user ran on the device, and its utilization is unknown.
ALTER TABLE usage ADD COLUMN unknown INTEGER NOT NULL DEFAULT 0;

-- Idle is what remains of the time in which the device was attached to the user or had a process of the user.
UPDATE usage SET unknown = present, idle = MAX(idle, held - present);
