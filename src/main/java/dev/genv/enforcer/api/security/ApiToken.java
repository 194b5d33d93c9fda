package dev.genv.enforcer.api.security;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.Step;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.WatchedFile;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The token that the API requires. A separate thread reads the file, because a file system may not answer. Requests use the token
 * that this thread read last.
 */
@Singleton
public class ApiToken {
    private static final Logger LOG = Logger.getLogger(ApiToken.class);
    private static final Duration PAUSE = Duration.ofSeconds(1);
    /** A token that was not read again within this time is unknown. */
    private static final Duration LONGEST_AGE = Duration.ofSeconds(10);

    private final Optional<TokenFile> file;
    private final Ticker ticker;
    private volatile Reading latest;
    private String warned = "";

    /** The result of reading the file: the token, or why there is none. */
    private record Reading(@Nullable String token, String problem, long at) {}

    @Inject
    public ApiToken(Optional<TokenFile> file) {
        this(file, Ticker.ofSystem());
    }

    ApiToken(Optional<TokenFile> file, Ticker ticker) {
        this.file = file;
        this.ticker = ticker;
        this.latest = new Reading(null, "", ticker.mark());
    }

    void start(@Observes StartupEvent event) {
        file.ifPresent(tokens -> {
            refresh(tokens);
            WatchedFile.watch("api-token", PAUSE, () -> refresh(tokens));
        });
    }

    boolean isRequired() {
        return file.isPresent();
    }

    /** Returns the token; empty if it is unknown, and then every request is refused. */
    Optional<String> current() {
        return isCurrent() ? Optional.ofNullable(latest.token) : Optional.empty();
    }

    /** Returns why the token is unknown. */
    public Optional<String> problem() {
        if (file.isEmpty() || current().isPresent()) {
            return Optional.empty();
        }
        return Optional.of(
                isCurrent()
                        ? latest.problem
                        : "its file has not answered for %d seconds"
                                .formatted(ticker.since(latest.at).toSeconds()));
    }

    private boolean isCurrent() {
        return ticker.since(latest.at).compareTo(LONGEST_AGE) < 0;
    }

    /** Reads the file once. */
    void refresh(TokenFile tokens) {
        try {
            var token = tokens.read();
            warn(tokens.weakness().orElse(""));
            update(new Reading(token, "", ticker.mark()));
        } catch (IOException e) {
            update(new Reading(null, "expected %s: ".formatted(TokenFile.FORM) + Errno.textOf(e), ticker.mark()));
        }
    }

    private void update(Reading next) {
        if (next.token == null && !next.problem.equals(latest.problem)) {
            LOG.errorf("The API refuses all requests, because its token is unknown: %s", next.problem);
        } else if (next.token != null && !latest.problem.isEmpty()) {
            LOG.info("The file with the API token can be read again");
        }
        latest = next;
    }

    private void warn(String weakness) {
        if (!weakness.equals(warned) && !weakness.isEmpty()) {
            LOG.warnf("The file with the API token is not safe: %s", weakness);
        }
        warned = weakness;
    }

    /** The file with the bearer token. Its content may change, for example when Kubernetes renews a secret. */
    public static final class TokenFile {
        private static final int LONGEST = 4096;
        /** What the file must be. */
        public static final String FORM =
                "a file with one token of at most " + LONGEST + " ASCII characters without blanks";

        private static final FileTree OWN_FILES = new FileTree(Path.of("/"));
        private static final Pattern TOKEN = Pattern.compile("[!-~]+");

        private final Path path;
        private final WatchedFile<String> file;

        public TokenFile(Path path) {
            this.path = path;
            this.file = new WatchedFile<>(path, LONGEST, TokenFile::parse);
        }

        /** Returns the present token; the file is read only after a change. The message of an error never has the content. */
        public String read() throws IOException {
            return file.current();
        }

        private static String parse(byte[] bytes) throws IOException {
            var text = new String(bytes, StandardCharsets.ISO_8859_1).strip();
            if (TOKEN.matcher(text).matches()) {
                return text;
            }
            throw new IOException("it is not one word of ASCII characters");
        }

        /** Returns why a user other than root and the service's own can change the token. */
        Optional<String> weakness() throws IOException {
            var owners = TrustedOwners.ofThisService();
            try {
                // In a sticky folder, such as /tmp, users cannot replace the file of another one.
                OWN_FILES.follow(
                        path.toAbsolutePath(),
                        (step, at) -> owners.inspect(step == Step.FOLDER ? Step.FOLDER_ABOVE : step, at));
                return Optional.empty();
            } catch (UntrustedException e) {
                return Optional.of(String.valueOf(e.getMessage()));
            }
        }
    }
}
