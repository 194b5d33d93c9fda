package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleResult;
import dev.genv.enforcer.enforcement.Pace;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;

/** What runs once everything is wired: one cycle, or cycles until somebody stops the service. */
public final class Service implements QuarkusApplication {
    private static final Logger LOG = Logger.getLogger(Service.class);

    private final CycleLoop loop;
    private final Pace pace;
    private final Wiring wiring;

    Service(CycleLoop loop, Pace pace, Wiring wiring) {
        this.loop = loop;
        this.pace = pace;
        this.wiring = wiring;
    }

    @Override
    public int run(String... arguments) throws InterruptedException {
        if (pace.interval().isZero()) {
            return once();
        }
        loop.start();
        Quarkus.waitForExit();
        return 0;
    }

    private int once() throws InterruptedException {
        var report = loop.once();
        wiring.close(); // the reader of the output may take its time, and must not keep another enforcer waiting
        var failures = new ArrayList<>(report.shortcomings());
        try {
            write(report.lines());
        } catch (IOException e) {
            failures.add("standard output cannot be written: " + e.getMessage());
        }
        failures.forEach(failure -> LOG.errorf("Exit code 1: %s", failure));
        return failures.isEmpty() && report.result() == CycleResult.SUCCESS ? 0 : 1;
    }

    /** Not to System.out, which swallows errors. */
    private static void write(List<String> lines) throws IOException {
        var text = new StringBuilder();
        lines.forEach(line -> text.append(line).append('\n'));
        new FileOutputStream(FileDescriptor.out)
                .write(text.toString().getBytes(Charset.forName(System.getProperty("stdout.encoding", "UTF-8"))));
    }
}
