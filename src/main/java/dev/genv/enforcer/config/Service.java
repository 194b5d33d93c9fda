package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import io.quarkus.bootstrap.logging.InitialConfigurator;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import jakarta.inject.Singleton;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;
import org.jboss.logmanager.handlers.AsyncHandler;

/** The application: runs one cycle, or cycles until the service is stopped. */
@Singleton
public record Service(
        CycleLoop loop,
        Enforcer enforcer,
        CycleSchedule cycleSchedule,
        Notifications notifications,
        Storage storage,
        Hosts hosts,
        SystemdNotifier systemd)
        implements QuarkusApplication {
    private static final Logger LOG = Logger.getLogger(Service.class);

    @Override
    public int run(String... arguments) throws InterruptedException {
        Variables.ofProcess().misnamed(SettingsReader.variables()).forEach(LOG::error);
        if (cycleSchedule.interval().isZero()) {
            return once();
        }
        // At the exit Quarkus flushes both streams, and closes the handlers of the log. That must not wait for the
        // reader of the log, which has the original streams.
        for (var handler : InitialConfigurator.DELAYED_HANDLER.getHandlers()) {
            if (handler instanceof AsyncHandler log) {
                log.setCloseChildren(false);
            }
        }
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), false, System.out.charset()));
        System.setErr(new PrintStream(new FileOutputStream(FileDescriptor.err), false, System.err.charset()));
        notifications.start();
        loop.start();
        systemd.ready();
        Quarkus.waitForExit();
        systemd.stopping();
        notifications.close();
        return 0;
    }

    private int once() throws InterruptedException {
        loop.runOnce();
        var report = enforcer.latest().orElseThrow(() -> new IllegalStateException("a cycle has a report"));
        storage.close();
        hosts.close(); // a slow reader of the output must not block another enforcer
        var failures = new ArrayList<>(report.incompletenessReasons());
        try {
            write(report.lines());
        } catch (IOException e) {
            failures.add("standard output cannot be written: " + e.getMessage());
        }
        failures.forEach(failure -> LOG.errorf("Exit code 1: %s", failure));
        return failures.isEmpty() && report.result() == CycleResult.SUCCESS ? 0 : 1;
    }

    /** Writes to standard output directly, because System.out hides errors. */
    private static void write(List<String> lines) throws IOException {
        var text = new StringBuilder();
        lines.forEach(line -> text.append(line).append('\n'));
        new FileOutputStream(FileDescriptor.out)
                .write(text.toString().getBytes(Charset.forName(System.getProperty("stdout.encoding", "UTF-8"))));
    }
}
