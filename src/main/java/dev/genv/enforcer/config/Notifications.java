package dev.genv.enforcer.config;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.api.view.ViolationView.ActionView;
import dev.genv.enforcer.config.settings.NotificationSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.EventLog.EventSubscription;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Addresses;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.notification.Delivery;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import dev.genv.enforcer.notification.MailDelivery;
import dev.genv.enforcer.notification.MailDelivery.MailSender;
import dev.genv.enforcer.notification.NoticeText;
import dev.genv.enforcer.notification.PersonalDelivery.Limits;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.notification.TerminalDelivery;
import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.notification.WebhookBodies;
import dev.genv.enforcer.notification.WebhookDelivery;
import dev.genv.enforcer.notification.WebhookDelivery.WebhookSender;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Vertx;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** The deliveries that are configured, from the start of the service to its end. */
@Singleton
public class Notifications implements CycleListener {
    private static final Logger LOG = Logger.getLogger(Notifications.class);
    private static final Path PROC = Path.of("/proc");
    /** The longest time for a mail or a request. */
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(15);

    private final Settings settings;
    private final NotificationSettings notification;
    private final ViolationRegistry violations;
    private final EventLog events;
    private final DeliveryCursors cursors;
    private final Vertx vertx;
    private final ObjectMapper mapper;
    private final RandomGenerator random;
    private final Ticker ticker;
    private final MeterRegistry registry;
    private final UserDirectory users = new UserDirectory();
    private final List<Delivery> deliveries = new ArrayList<>();
    private final List<EventSubscription> running = new ArrayList<>();

    Notifications(
            Settings settings,
            ViolationRegistry violations,
            EventLog events,
            DeliveryCursors cursors,
            Vertx vertx,
            ObjectMapper mapper,
            RandomGenerator random,
            Ticker ticker,
            MeterRegistry registry) {
        this.settings = settings;
        this.notification = settings.notification();
        this.violations = violations;
        this.events = events;
        this.cursors = cursors;
        this.vertx = vertx;
        this.mapper = mapper;
        this.random = random;
        this.ticker = ticker;
        this.registry = registry;
        addDeliveries();
    }

    private void addDeliveries() {
        if (notification.terminalMessages()) {
            deliveries.add(new TerminalDelivery(messages(), PROC, Hosts.nodeName(settings), ticker, registry));
        }
        notification.mailHost().map(this::mail).ifPresent(deliveries::add);
        notification
                .webhookUrl()
                .or(notification::webhookUrlFile)
                .map(this::webhook)
                .ifPresent(deliveries::add);
    }

    /** Begins to deliver. The events of earlier runs are restored before, and the first cycle comes later. */
    public synchronized void start() {
        if (!deliveries.isEmpty()) {
            LOG.infof(
                    "Violations are reported by: %s",
                    deliveries.stream().map(Delivery::name).collect(Collectors.joining(", ")));
        }
        var delay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
        deliveries.forEach(delivery -> running.add(delivery.start(events, delay)));
    }

    /** Takes over the accounts that a cycle read. It is called after the events of the cycle were published. */
    @Override
    public void record(CycleReport report) {
        if (deliveries.isEmpty()) {
            return;
        }
        if (report.error() == null) {
            users.update(report.fleet());
        }
        users.setCurrentUpTo(events.latest());
    }

    /** Returns a problem for each kind of delivery that fails. */
    @Override
    public List<Problem> problems() {
        return deliveries.stream()
                .flatMap(delivery -> delivery.problem().stream()
                        .map(why ->
                                new Problem(ProblemCode.NOTIFICATION_FAILED, "%s: %s".formatted(delivery.name(), why))))
                .toList();
    }

    /** Stops the deliveries. What was not delivered is lost, unless a database file remembers it. */
    public synchronized void close() {
        running.forEach(EventSubscription::close);
        running.clear();
    }

    private MessageSource messages() {
        var killAfter = Optional.ofNullable(settings.safetyLimits().killAfter());
        var text = new NoticeText(killAfter, violations, users, ZoneId.systemDefault(), page());
        return new MessageSource(users, text, notification.auditMessages());
    }

    private MailDelivery mail(String host) {
        var server = MailSender.server(host, notification.mailPort(), notification.mailTls());
        notification.mailUser().ifPresent(server::setUsername);
        var from = notification.mailFrom().orElseThrow(() -> new IllegalStateException("the settings have a sender"));
        var password = notification.mailPasswordFile().map(SecretFile::new);
        return new MailDelivery(
                messages(),
                new Addresses(
                        notification.mailTo(), notification.mailAddressFile().map(AddressFile::new), users),
                new MailSender(
                        vertx, server, password, from, notification.mailCc(), notification.mailReplyTo(), TIMEOUT),
                new Limits(notification.mailDelay(), notification.mailMaxPerHour()),
                ticker,
                random,
                registry);
    }

    private WebhookDelivery webhook(URI receiver) {
        var bodies = new WebhookBodies(
                notification.webhookFormat(), source(), page(), mapper, ViolationView::of, ActionView::of);
        var secret = notification.webhookSecretFile().map(SecretFile::new);
        return new WebhookDelivery(
                new WebhookSender(vertx, receiver, secret, bodies, TIMEOUT, ticker),
                Set.copyOf(notification.webhookEvents()),
                cursors,
                ticker,
                random,
                registry);
    }

    /** The address of the page without a slash at its end. */
    private Optional<URI> page() {
        return notification
                .publicUrl()
                .map(address -> URI.create(address.toString().replaceFirst("/+$", "")));
    }

    /** Identifies this service among others, as CloudEvents require it. */
    private URI source() {
        try {
            return new URI("urn", "genv-enforcer:" + Hosts.nodeName(settings), null);
        } catch (URISyntaxException e) {
            throw new IllegalStateException("every name can be quoted", e);
        }
    }
}
