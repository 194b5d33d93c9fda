package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.UnreachableException;
import java.util.Optional;

/** The right to act on a host from afar, which one service has at a time. */
final class Lease {
    /** It stays the same from look to look, or each of them would be told. */
    private static final String WATCHES =
            "another service acts on this host from afar, or this one did before it was started anew, and that lease is not over";

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
                : Optional.of("another service acted on this host %d s ago: watching until its lease is over, in %d s"
                        .formatted(frame.get().number(0), frame.get().number(1)));
    }
}
