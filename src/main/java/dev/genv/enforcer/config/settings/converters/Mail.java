package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.notification.mail.AddressFile;
import dev.genv.enforcer.notification.mail.Addresses;
import dev.genv.enforcer.notification.mail.MailAddress;
import dev.genv.enforcer.notification.mail.MailServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Values for mails. */
@SuppressWarnings("serial")
public final class Mail {
    private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._:-]{1,253}");
    private static final Pattern LOGIN = Pattern.compile("[!-~]{1,320}");

    private Mail() {}

    /** The name or the address of a server. */
    public static final class Host extends SettingConverter<String> {
        public Host() {
            super("the name or the address of a host, such as mail.example.org");
        }

        @Override
        public String convert(String value) {
            if (!HOST.matcher(value).matches()) {
                throw invalid();
            }
            return value;
        }
    }

    /** The user of a login. */
    public static final class Login extends SettingConverter<String> {
        public Login() {
            super("ASCII characters without blanks");
        }

        @Override
        public String convert(String value) {
            if (!LOGIN.matcher(value).matches()) {
                throw invalid();
            }
            return value;
        }
    }

    /** A plain address. */
    public static final class Address extends SettingConverter<String> {
        public Address() {
            super("a mail address, such as gpu-admin@example.org");
        }

        @Override
        public String convert(String value) {
            if (!MailAddress.isValid(value)) {
                throw invalid();
            }
            return value;
        }
    }

    /** The addresses of all users. */
    public static final class Template extends SettingConverter<String> {
        public Template() {
            super("a mail address with {user} for the name, such as {user}@example.org");
        }

        @Override
        public String convert(String value) {
            if (!value.contains(Addresses.USER) || !MailAddress.isValid(value.replace(Addresses.USER, "user"))) {
                throw invalid();
            }
            return value;
        }
    }

    /** A file of addresses that is valid now; later changes are checked when they happen. */
    public static final class FileOfAddresses extends SettingConverter<Path> {
        public FileOfAddresses() {
            super("a file with name=address on each line");
        }

        @Override
        public Path convert(String value) {
            var path = Paths.absolute(value);
            try {
                new AddressFile(path).read();
                return path;
            } catch (IOException e) {
                throw new IllegalArgumentException("expected %s: %s".formatted(accepted(), Web.reason(e)), e);
            }
        }
    }

    /** Whether connections are encrypted. */
    public static final class TlsMode extends ChoiceConverter<MailServer.Tls> {
        public TlsMode() {
            super(List.of(MailServer.Tls.values()));
        }

        @Override
        public MailServer.Tls convert(String value) {
            return choose(value);
        }
    }
}
