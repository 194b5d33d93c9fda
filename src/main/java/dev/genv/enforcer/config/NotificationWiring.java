package dev.genv.enforcer.config;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.config.settings.NotificationSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.Records;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import dev.genv.enforcer.notification.Delivery;
import dev.genv.enforcer.notification.NoticeReader;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.notification.mail.Addresses;
import dev.genv.enforcer.notification.mail.Addresses.AddressFile;
import dev.genv.enforcer.notification.mail.MailDelivery;
import dev.genv.enforcer.notification.mail.MailSender;
import dev.genv.enforcer.notification.mail.MailSender.MailServer;
import dev.genv.enforcer.notification.notice.NoticeText;
import dev.genv.enforcer.notification.terminal.TerminalDelivery;
import dev.genv.enforcer.notification.webhook.WebhookBodies;
import dev.genv.enforcer.notification.webhook.WebhookDelivery;
import dev.genv.enforcer.notification.webhook.WebhookSender;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Vertx;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Creates the deliveries of messages and events. */
@Singleton
class NotificationWiring {
    private static final Path PROC = Path.of("/proc");
    /** The longest time for a mail or a request. */
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final Settings settings;
    private final NotificationSettings notification;
    private final Records records;
    private final Vertx vertx;
    private final ObjectMapper mapper;
    private final RandomGenerator random;
    private final UserDirectory users = new UserDirectory();
    private final Ticker ticker = Ticker.ofSystem();

    NotificationWiring(Settings settings, Records records, Vertx vertx, ObjectMapper mapper, RandomGenerator random) {
        this.settings = settings;
        this.notification = settings.notification();
        this.records = records;
        this.vertx = vertx;
        this.mapper = mapper;
        this.random = random;
    }

    @Produces
    @Singleton
    Notifications notifications(MeterRegistry registry) {
        var deliveries = new ArrayList<Delivery>();
        if (notification.terminalMessages()) {
            deliveries.add(new TerminalDelivery(reader(), users, text(), PROC, Wiring.nodeName(settings), ticker));
        }
        notification.mailHost().map(this::mail).ifPresent(deliveries::add);
        notification
                .webhookUrl()
                .or(notification::webhookUrlFile)
                .map(this::webhook)
                .ifPresent(deliveries::add);
        var notifications = new Notifications(deliveries, users, records.events(), random);
        notifications.register(registry);
        return notifications;
    }

    private NoticeReader reader() {
        return new NoticeReader(users, notification.auditMessages());
    }

    private NoticeText text() {
        return new NoticeText(Optional.ofNullable(settings.safetyLimits().killAfter()), records.registry());
    }

    private MailDelivery mail(String host) {
        var login = notification
                .mailUser()
                .flatMap(user ->
                        notification.mailPasswordFile().map(file -> new MailServer.Login(user, new SecretFile(file))));
        var server = new MailServer(host, notification.mailPort(), notification.mailTls(), login);
        var envelope = new MailSender.Envelope(
                notification.mailFrom().orElseThrow(() -> new IllegalStateException("the settings have a sender")),
                notification.mailCc());
        return new MailDelivery(
                reader(),
                new Addresses(
                        notification.mailTo(), notification.mailAddressFile().map(AddressFile::new), users),
                text(),
                new MailSender(vertx, server, envelope, TIMEOUT),
                new MailDelivery.Limits(notification.mailDelay(), notification.mailMaxPerHour()),
                ticker,
                random);
    }

    private WebhookDelivery webhook(URI receiver) {
        var bodies = new WebhookBodies(notification.webhookFormat(), source(), mapper, new ApiView());
        var secret = notification.webhookSecretFile().map(SecretFile::new);
        return new WebhookDelivery(
                new WebhookSender(vertx, receiver, secret, bodies, TIMEOUT, ticker),
                records.deliveries().of(WebhookDelivery.NAME),
                ticker,
                random);
    }

    /** Identifies this service among others, as CloudEvents require it. */
    private URI source() {
        try {
            return new URI("urn", "genv-enforcer:" + Wiring.nodeName(settings), null);
        } catch (URISyntaxException e) {
            throw new IllegalStateException("every name can be quoted", e);
        }
    }

    /** Violations in events look as in the API. */
    private static final class ApiView implements WebhookBodies.View {
        @Override
        public Object violation(ViolationRecord violation) {
            return ViolationView.of(violation);
        }

        @Override
        public Object action(ActionNote action) {
            return ViolationView.ActionView.of(action);
        }
    }
}
