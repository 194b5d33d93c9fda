package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.NotifySocket;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jboss.logging.Logger;

/**
 * Notifies the service manager that started the service, such as systemd, by the protocol of sd_notify(3): the service is ready, a cycle
 * ended, the service stops. If cycles no longer end, the service manager restarts the service.
 */
public final class SystemdNotifier implements CycleListener {
    private static final Logger LOG = Logger.getLogger(SystemdNotifier.class);

    /** Empty if there is no service manager. */
    private final String socket;
    /** The time after which the service manager restarts the service, in microseconds; 0 if it never does. */
    private final long watchdogMicros;

    /** Reads NOTIFY_SOCKET and WATCHDOG_USEC, and extends the watchdog to what the slowest possible cycles take. */
    SystemdNotifier(Map<String, String> environment, CycleSchedule schedule) {
        socket = environment.getOrDefault("NOTIFY_SOCKET", "");
        var configured = Long.parseLong(environment.getOrDefault("WATCHDOG_USEC", "0"));
        watchdogMicros = configured == 0
                ? 0
                : Math.max(
                        configured,
                        TimeUnit.NANOSECONDS.toMicros(schedule.stallLimit().toNanos()));
    }

    void ready() {
        send(watchdogMicros == 0 ? "READY=1" : "READY=1\nWATCHDOG_USEC=" + watchdogMicros);
    }

    @Override
    public void accept(CycleReport report) {
        send("WATCHDOG=1");
    }

    void stopping() {
        send("STOPPING=1");
    }

    private void send(String message) {
        if (socket.isEmpty()) {
            return;
        }
        try {
            NotifySocket.send(socket, message);
        } catch (Errno e) {
            LOG.warnf("The service manager does not receive %s: %s", message, e);
        }
    }
}
