package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Ticker;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The token that the API requires. A thread of its own reads the file, because a file system may take any time to answer.
 * Requests use what that thread read last.
 */
@Singleton
public class ApiToken {
    private static final Logger LOG = Logger.getLogger(ApiToken.class);
    private static final Duration PAUSE = Duration.ofSeconds(1);
    /** A token that was not read again for so long is no longer known. */
    private static final Duration LONGEST_AGE = Duration.ofSeconds(10);

    private final Optional<TokenFile> file;
    private final Ticker ticker;
    private volatile Reading latest;
    private String warned = "";

    /**
     * What was found in the file.
     *
     * @param token null where there is none
     * @param problem why there is none
     */
    private record Reading(@Nullable String token, String problem, long at) {}

    @Inject
    ApiToken(Optional<TokenFile> file) {
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
            Thread.ofPlatform()
                    .name("api-token")
                    .daemon() // a file that does not answer must not keep the service from ending
                    .start(() -> watch(tokens));
        });
    }

    boolean isRequired() {
        return file.isPresent();
    }

    /** Empty while it is not known: then every request is refused. */
    Optional<String> current() {
        return isCurrent() ? Optional.ofNullable(latest.token) : Optional.empty();
    }

    /** Why the token is not known. */
    Optional<String> problem() {
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

    private void watch(TokenFile tokens) {
        try {
            while (true) {
                Thread.sleep(PAUSE);
                refresh(tokens);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Reads the file once. */
    void refresh(TokenFile tokens) {
        try {
            var token = tokens.read();
            warn(tokens.weakness().orElse(""));
            update(new Reading(token, "", ticker.mark()));
        } catch (IOException e) {
            update(new Reading(null, Objects.requireNonNullElse(e.getMessage(), "no reason is known"), ticker.mark()));
        }
    }

    private void update(Reading next) {
        if (next.token == null && !next.problem.equals(latest.problem)) {
            LOG.errorf("The API refuses all requests, because its token is not known: %s", next.problem);
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
}
