package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleResult;
import dev.genv.enforcer.enforcement.Pace;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;

/** What runs once everything is wired: one cycle, or cycles until somebody stops the service. */
public final class Service implements QuarkusApplication {
    private final CycleLoop loop;
    private final Pace pace;

    Service(CycleLoop loop, Pace pace) {
        this.loop = loop;
        this.pace = pace;
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
        report.lines().forEach(System.out::println);
        System.out.flush();
        return report.result() == CycleResult.SUCCESS ? 0 : 1;
    }
}
