package dev.genv.enforcer.config.settings.converters;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.notification.webhook.WebhookFormat;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Values for the webhook. */
@SuppressWarnings("serial")
public final class Web {
    private Web() {}

    /** The address of a receiver. */
    public static final class Address extends SettingConverter<URI> {
        public Address() {
            super("an address with https or http and a host, such as https://example.org/hook");
        }

        @Override
        public URI convert(String value) {
            return address(value, this);
        }
    }

    /** A file with such an address. */
    public static final class FileOfAddress extends SettingConverter<URI> {
        public FileOfAddress() {
            super("a file with an address with https or http and a host");
        }

        @Override
        public URI convert(String value) {
            return address(read(value, this), this);
        }
    }

    /** A file that contains a secret now; later changes are checked when they happen. */
    public static final class FileOfSecret extends SettingConverter<Path> {
        public FileOfSecret() {
            super("a file with a secret on one line");
        }

        @Override
        public Path convert(String value) {
            read(value, this);
            return Paths.absolute(value);
        }
    }

    /** The form of the requests. */
    public static final class Format extends ChoiceConverter<WebhookFormat> {
        public Format() {
            super(List.of(WebhookFormat.values()));
        }

        @Override
        public WebhookFormat convert(String value) {
            return choose(value);
        }
    }

    /** Returns why a file cannot be used, without its path, which may be a secret that was set by mistake. */
    static String reason(IOException why) {
        return Errno.textOf(why);
    }

    private static String read(String value, SettingConverter<?> converter) {
        try {
            return new SecretFile(Paths.absolute(value)).read();
        } catch (IOException e) {
            throw new IllegalArgumentException("expected %s: %s".formatted(converter.accepted(), reason(e)), e);
        }
    }

    private static URI address(String value, SettingConverter<?> converter) {
        try {
            var uri = new URI(value);
            var scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
            if ((scheme.equals("https") || scheme.equals("http"))
                    && uri.getHost() != null
                    && uri.getUserInfo() == null
                    && uri.getFragment() == null) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // its message has the value
        }
        throw new IllegalArgumentException("expected " + converter.accepted());
    }
}
