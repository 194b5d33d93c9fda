package dev.genv.enforcer.config;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.report.WeeklyReport;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.api.view.ViolationView.ActionView;
import dev.genv.enforcer.config.settings.NotificationSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.EventLog.EventSubscription;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Addresses;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.notification.MailSender;
import dev.genv.enforcer.notification.MailSender.MailServer;
import dev.genv.enforcer.notification.NoticeText;
import dev.genv.enforcer.notification.Outbox;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.notification.Sender;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.TerminalSender;
import dev.genv.enforcer.notification.TerminalSender.Terminals;
import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.notification.WebhookBodies;
import dev.genv.enforcer.notification.WebhookSender;
import dev.genv.enforcer.notification.WeeklyMail;
import dev.genv.enforcer.store.Database;
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
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** The deliveries that are configured, from the start of the service to its end. */
@Singleton
public class Notifications implements CycleListener {
    private static final Logger LOG = Logger.getLogger(Notifications.class);
    private static final Path PROC = Path.of("/proc");
    /** The longest time for a mail or a request. */
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final EventLog events;
    private final UserDirectory users;
    private final List<Outbox> outboxes;
    private final Optional<WeeklyMail> weekly;
    private final List<EventSubscription> running = new ArrayList<>();

    Notifications(
            Settings settings,
            ViolationRegistry violations,
            EventLog events,
            DeliveryCursors cursors,
            Database database,
            Vertx vertx,
            ObjectMapper mapper,
            RandomGenerator random,
            Ticker ticker,
            MeterRegistry registry) {
        this.events = events;
        var notification = settings.notification();
        users = new UserDirectory(notification.auditMessages());
        // The address of the page without a slash at its end.
        var page = notification
                .publicUrl()
                .map(address -> URI.create(address.toString().replaceFirst("/+$", "")));
        var killAfter = Optional.ofNullable(settings.safetyLimits().killAfter());
        var text = new NoticeText(killAfter, violations, users, ZoneId.systemDefault(), page);
        var node = Hosts.nodeName(settings);
        var senders = new ArrayList<Sender>();
        if (notification.terminalMessages()) {
            senders.add(new TerminalSender(text, Terminals.of(PROC), node));
        }
        var mailServer = notification.mailHost().map(host -> mailServer(host, notification, vertx));
        if (notification.mailTo().isPresent() || notification.mailAddressFile().isPresent()) {
            mailServer.map(server -> mail(server, notification, text)).ifPresent(senders::add);
        }
        weekly = notification
                .mailReportTo()
                .flatMap(to -> mailServer.map(server -> new WeeklyMail(
                        (from, until) -> WeeklyReport.text(database, from, until),
                        server,
                        to,
                        cursors,
                        ZoneId.systemDefault(),
                        ticker,
                        random,
                        Thread::startVirtualThread)));
        notification.webhookUrl().or(notification::webhookUrlFile).ifPresent(receiver -> {
            var bodies = new WebhookBodies(
                    notification.webhookFormat(), source(node), page, mapper, ViolationView::of, ActionView::of);
            var secret = notification.webhookSecretFile().map(SecretFile::new);
            var kinds = Set.copyOf(notification.webhookEvents());
            senders.add(new WebhookSender(vertx, receiver, secret, bodies, kinds, TIMEOUT, ticker));
        });
        outboxes = senders.stream()
                .map(sender -> new Outbox(sender, cursors, ticker, random, registry))
                .toList();
    }

    private static MailServer mailServer(String host, NotificationSettings settings, Vertx vertx) {
        var config = MailServer.config(host, settings.mailPort(), settings.mailTls());
        settings.mailUser().ifPresent(config::setUsername);
        return new MailServer(
                vertx,
                config,
                settings.mailPasswordFile().map(SecretFile::new),
                settings.mailFrom().orElseThrow(() -> new IllegalStateException("the settings have a sender")),
                settings.mailCc(),
                settings.mailReplyTo(),
                TIMEOUT);
    }

    private static MailSender mail(MailServer server, NotificationSettings settings, NoticeText text) {
        var addresses =
                new Addresses(settings.mailTo(), settings.mailAddressFile().map(AddressFile::new), text.users());
        return new MailSender(text, addresses, server, Limits.ofUsers(settings.mailDelay(), settings.mailMaxPerHour()));
    }

    /** Identifies this service among others, as CloudEvents require it. */
    private static URI source(String node) {
        try {
            return new URI("urn", "genv-enforcer:" + node, null);
        } catch (URISyntaxException e) {
            throw new IllegalStateException("every name can be quoted", e);
        }
    }

    /** Begins to deliver. The events of earlier runs are restored before, and the first cycle comes later. */
    public synchronized void start() {
        if (!outboxes.isEmpty()) {
            LOG.infof(
                    "Violations are reported by: %s",
                    outboxes.stream().map(Outbox::name).collect(Collectors.joining(", ")));
        }
        outboxes.forEach(outbox -> running.add(outbox.start(events)));
    }

    /** Takes over the accounts that a cycle read. It is called before the events of the cycle are published. */
    @Override
    public void accept(CycleReport report) {
        if (report.error() == null) {
            users.update(report.fleet());
        }
        weekly.ifPresent(WeeklyMail::check);
    }

    /** Returns a problem for each kind of delivery that fails. */
    @Override
    public List<Problem> problems() {
        return Stream.concat(
                        outboxes.stream()
                                .flatMap(outbox ->
                                        outbox.problem().stream().map(why -> "%s: %s".formatted(outbox.name(), why))),
                        weekly.flatMap(WeeklyMail::problem).map("weekly report: "::concat).stream())
                .map(detail -> new Problem(ProblemCode.NOTIFICATION_FAILED, detail))
                .toList();
    }

    /** Stops the deliveries. What was not delivered is lost, unless a database file remembers it. */
    public synchronized void close() {
        running.forEach(EventSubscription::close);
        running.clear();
    }
}
