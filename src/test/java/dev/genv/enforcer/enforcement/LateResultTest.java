package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LateResultTest extends EnforcerFixture {
    /** The service waits for a host whose last actions failed for a tenth of the time limit only, and does not abandon its task. */
    @Test
    @Timeout(600)
    void reportsASignalThatIsSentAfterTheCycle() throws Exception {
        var fine = new FakeHost(host("fine").devices(1).with(process(1).uses(0)));
        var release = new CountDownLatch(1);
        var slow = new FakeHost(host("slow").devices(1).with(process(2).uses(0))).answerWith(_ -> {
            throw new IllegalStateException("no");
        });
        var enforcer = EnforcerFactory.create(
                setup(ServiceMode.ENFORCE, true, fine, slow)
                        .remote(true)
                        .actionTimeout(Duration.ofSeconds(30))
                        .build(),
                NoStore.records(registry),
                Ticker.ofSystem(),
                List.of(reports::add));
        enforcer.runCycle();
        slow.answerWith(_ -> {
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return Result.of(Outcome.SIGNALLED);
        });
        enforcer.runCycle();
        release.countDown();
        await().until(() -> !enforcer.isBusy());
        enforcer.runCycle();
        enforcer.runCycle();
        assertThat(slow.executed).as("one failed attempt and one SIGTERM").hasSize(2);
        var violation = registry.find(entry -> "slow".equals(entry.violation().host()), 1)
                .getFirst();
        assertThat(violation.actions()).extracting(note -> note.outcome()).contains(Outcome.SIGNALLED);
    }
}
