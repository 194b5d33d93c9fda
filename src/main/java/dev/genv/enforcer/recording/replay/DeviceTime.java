package dev.genv.enforcer.recording.replay;

import java.time.Duration;

/**
 * The time of devices: two devices for an hour are two device hours.
 *
 * @param held while they were attached to an environment of the user
 * @param used while a process of the user ran on them
 */
public record DeviceTime(Duration held, Duration used) {
    public DeviceTime plus(DeviceTime other) {
        return new DeviceTime(held.plus(other.held), used.plus(other.used));
    }
}
