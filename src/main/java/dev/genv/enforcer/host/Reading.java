package dev.genv.enforcer.host;

import java.util.function.Function;

/** A value that was read, or why it could not be read. */
public sealed interface Reading<T> {
    record Value<T>(T value) implements Reading<T> {}

    /** No value; the reason is a clause for people, such as the kernel's text of the error, and may be empty. */
    record Failed<T>(Failure failure, String reason) implements Reading<T> {}

    enum Failure {
        ABSENT,
        DENIED,
        TIMEOUT,
        /** It was not attempted, because it did not answer at an earlier observation. */
        SKIPPED,
        /** It was not attempted, because no time or no thread was left. */
        NO_TIME,
        /** A user whom the machine does not trust can replace it. */
        UNTRUSTED,
        OTHER
    }

    static <T> Reading<T> of(T value) {
        return new Value<>(value);
    }

    static <T> Reading<T> failed(Failure failure, String reason) {
        return new Failed<>(failure, reason);
    }

    /** Returns what the function makes of the value, or the same failure. */
    default <R> Reading<R> flatMap(Function<? super T, Reading<R>> function) {
        return switch (this) {
            case Value<T>(var value) -> function.apply(value);
            case Failed<T>(var failure, var reason) -> failed(failure, reason);
        };
    }
}
