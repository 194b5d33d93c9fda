package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Messages about violations to users and to a webhook. A single cycle sends none. */
@ConfigMapping(prefix = "genv.enforcer")
public interface NotificationSettings {
    /**
     * Whether the service writes to the terminals of users of its own node: before it acts if a grace period applies, and after that.
     * The real uid of the process decides who the user is. A terminal that refuses messages (mesg n) gets none.
     */
    @WithDefault("off")
    @Accepts(SettingKind.ON_OR_OFF)
    boolean terminalMessages();

    /** Address at which users open the page, such as {@code https://gpus.example.org}. Messages link to it. Unset means no links. */
    @Accepts(SettingKind.WEB_ADDRESS)
    Optional<URI> publicUrl();

    /**
     * Whether users also get a message about a violation on which the service does not act, because the service or the rule is in audit
     * mode. Set it before you enforce a new rule.
     */
    @WithDefault("off")
    @Accepts(SettingKind.ON_OR_OFF)
    boolean auditMessages();

    /** SMTP server for mails to users, a name or an address. Unset means no mails. */
    @Accepts(SettingKind.SERVER_NAME)
    Optional<String> mailHost();

    /** Port of the SMTP server. On port 465, TLS begins with the connection; on other ports with STARTTLS. */
    @WithDefault("587")
    @Accepts(SettingKind.PORT)
    int mailPort();

    /**
     * {@code required} sends mails only over TLS, and only if the certificate is valid for the server's name. {@code opportunistic} uses
     * TLS if the server offers it, without a check of the certificate. {@code none} never uses TLS.
     */
    @WithDefault("required")
    Tls mailTls();

    /** User for the login at the SMTP server. Unset means no login. It requires TLS and a password. */
    @Accepts(SettingKind.MAIL_LOGIN)
    Optional<String> mailUser();

    /** File with the password for the login. The service reads it again after a change. */
    @Accepts(SettingKind.FILE_OF_SECRET)
    Optional<Path> mailPasswordFile();

    /** Address of the sender. */
    @Accepts(SettingKind.MAIL_ADDRESS)
    Optional<String> mailFrom();

    /**
     * Address of a user, with {@code {user}} for the name. The name is that of the account with the real uid of the process on its
     * machine. A user without an account there gets no mail.
     */
    @Accepts(SettingKind.ADDRESS_TEMPLATE)
    Optional<String> mailTo();

    /**
     * File with the addresses of users, one {@code name=address} or {@code uid=address} a line and {@code #} before comments. It takes
     * precedence over {@code GENV_ENFORCER_MAIL_TO}. The service reads it again after a change.
     */
    @Accepts(SettingKind.FILE_OF_ADDRESSES)
    Optional<Path> mailAddressFile();

    /** Address to which users answer. Unset means the sender. */
    @Accepts(SettingKind.MAIL_ADDRESS)
    Optional<String> mailReplyTo();

    /** Address that gets a copy of each mail. */
    @Accepts(SettingKind.MAIL_ADDRESS)
    Optional<String> mailCc();

    /**
     * Address of administrators, who get a mail on Mondays at 08:00 in the zone of the service: who held devices in the seven days before, and
     * how much of that was idle, with the violations and terminations. Set {@code GENV_ENFORCER_DATA_DIR} too, because otherwise a restart forgets
     * the past. Unset means no report.
     */
    @Accepts(SettingKind.MAIL_ADDRESS)
    Optional<String> mailReportTo();

    /** Time for which the service collects messages for one mail to a user. */
    @WithDefault("10s")
    @Accepts(SettingKind.GRACE_PERIOD)
    Duration mailDelay();

    /** Number of mails that a user gets in an hour. Further messages wait, and are combined in one mail. */
    @WithDefault("6")
    @Accepts(SettingKind.PER_HOUR)
    int mailMaxPerHour();

    /** Address that gets each event of a violation as a POST request. */
    @Accepts(SettingKind.WEB_ADDRESS)
    Optional<URI> webhookUrl();

    /** File with this address, which may be a secret. Set it instead of {@code GENV_ENFORCER_WEBHOOK_URL}. */
    @Accepts(SettingKind.FILE_OF_WEB_ADDRESS)
    Optional<URI> webhookUrlFile();

    /**
     * File with the key that signs the requests: {@code whsec_} and Base64, or any other text. The service reads it again after a change.
     * Unset means no signature.
     */
    @Accepts(SettingKind.FILE_OF_SECRET)
    Optional<Path> webhookSecretFile();

    /** {@code cloudevents} sends CloudEvents 1.0. {@code text} sends only a text, as Slack and Mattermost require it. */
    @WithDefault("cloudevents")
    WebhookFormat webhookFormat();

    /**
     * Events that the webhook gets: {@code opened}, {@code warned} before the service acts, {@code acted}, {@code resolved}. Separate them
     * by commas or blanks.
     */
    @WithDefault("opened,warned,acted,resolved")
    @Accepts(SettingKind.NOTICES)
    List<NoticeKind> webhookEvents();

    /** Whether the webhook may have an address with {@code http} on another host. Then others on the network can read these requests. */
    @WithDefault("false")
    boolean webhookPlainHttp();
}
