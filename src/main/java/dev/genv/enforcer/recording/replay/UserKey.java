package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.SafeText;

/** A user as far as one observation shows. */
public sealed interface UserKey {
    /** Nobody knows the user, or the owner of the environment is disputed. */
    UserKey UNKNOWN = new Unknown();

    /**
     * A user with a name.
     *
     * @param name a long one is replaced by its digest, because users can write any name
     */
    record Named(String name) implements UserKey {
        public Named {
            name = SafeText.bounded(name);
        }
    }

    /** A uid on a host. An environment that is recorded later may show its name. */
    record OfUid(String host, long uid) implements UserKey {}

    /** See {@link #UNKNOWN}. */
    record Unknown() implements UserKey {}
}
