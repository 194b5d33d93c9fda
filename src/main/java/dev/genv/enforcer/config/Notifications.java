package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.notification.Delivery;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import dev.genv.enforcer.notification.DeliveryThread;
import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.telemetry.DeliveryMetrics;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** The deliveries that are configured, from the start of the service to its end. */
public final class Notifications {
    private static final Logger LOG = Logger.getLogger(Notifications.class);

    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(15);

    private final List<Delivery> deliveries;
    private final UserDirectory users;
    private final EventLog events;
    private final RetryDelay retryDelay;
    private final List<DeliveryThread> threads = new ArrayList<>();

    Notifications(List<Delivery> deliveries, UserDirectory users, EventLog events, RandomGenerator random) {
        this.deliveries = List.copyOf(deliveries);
        this.users = users;
        this.events = events;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
    }

    void register(MeterRegistry registry) {
        var metrics = new DeliveryMetrics(registry);
        deliveries.forEach(delivery -> metrics.register(delivery.name(), delivery.statistics()::figures));
    }

    /** Begins to deliver. The events of earlier runs are restored before, and the first cycle comes later. */
    public synchronized void start() {
        if (!deliveries.isEmpty()) {
            LOG.infof(
                    "Violations are reported by: %s",
                    deliveries.stream().map(Delivery::name).collect(Collectors.joining(", ")));
        }
        deliveries.forEach(delivery -> threads.add(DeliveryThread.start(delivery, events, retryDelay)));
    }

    /** Takes over the accounts that a cycle read. It is called after the events of the cycle were published. */
    void record(CycleReport report) {
        if (deliveries.isEmpty()) {
            return;
        }
        if (report.error() == null) {
            users.update(report.hosts().stream()
                    .filter(HostReport::reached)
                    .collect(Collectors.toMap(
                            HostReport::host,
                            host -> new UserDirectory.Users(
                                    host.accounts(),
                                    host.snapshot().subordinateUids(),
                                    host.snapshot().environments()),
                            (one, _) -> one)));
        }
        users.setCurrentUpTo(events.latest());
    }

    /** Returns a problem for each kind of delivery that fails. */
    List<Problem> problems() {
        return deliveries.stream()
                .flatMap(delivery -> delivery.statistics().problem().stream()
                        .map(why ->
                                new Problem(ProblemCode.NOTIFICATION_FAILED, "%s: %s".formatted(delivery.name(), why))))
                .toList();
    }

    /** Stops the deliveries. What was not delivered is lost, unless a journal remembers it. */
    public synchronized void close() {
        threads.forEach(DeliveryThread::close);
        threads.clear();
    }
}
