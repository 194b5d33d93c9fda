package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import java.util.Optional;

/** The right to act on a host from afar, which one service has at a time. */
final class Lease {
    /** It stays the same from look to look, or each of them would be told. */
    private static final String WATCHES =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has not expired";

    private Lease() {}

    /** Why nothing is done after this look; nothing where the lease is ours, or nobody's. */
    static Optional<String> ofAnother(Frames frames) throws UnreachableException {
        return frames.find("leased").map(_ -> WATCHES);
    }

    /** Why nothing was done now. */
    static Optional<String> refusal(Frames frames) throws UnreachableException {
        var frame = frames.find("leased");
        return frame.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "another service acted on this host %d s ago: observing only until its lease expires, in %d s"
                                .formatted(frame.get().number(0), frame.get().number(1)));
    }
}
