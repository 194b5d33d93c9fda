package dev.genv.enforcer.e2e;

import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Lists of faults that are suffered at the same time, each in a place of its own and one fault after the other.
 *
 * @param <F> the faults, whose texts are their names
 * @param <O> what comes of one
 */
final class SideBySide<F, O> {
    private final Map<F, CompletableFuture<O>> outcomes = new LinkedHashMap<>();
    private final List<Thread> sufferers = new ArrayList<>();

    /** Suffers one fault. */
    interface Suffering<F, O> {
        O suffer(F fault) throws Exception;
    }

    /** Where faults are suffered: made, told how to suffer each of them, and taken down again. */
    interface Place<F, O> {
        void open(All<F, O> all) throws Exception;
    }

    /** Suffers all faults of a list. */
    interface All<F, O> {
        void suffer(Suffering<F, O> suffering);
    }

    /** The faults in their order, in so many lists of about the same length. */
    static <F> List<List<F>> split(List<F> faults, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> faults.subList(faults.size() * i / count, faults.size() * (i + 1) / count))
                .toList();
    }

    void begin(List<F> faults, Place<F, O> place) {
        faults.forEach(fault -> outcomes.put(fault, new CompletableFuture<>()));
        sufferers.add(Thread.ofPlatform().start(() -> {
            try {
                place.open(suffering -> faults.forEach(fault -> suffer(fault, suffering)));
            } catch (Throwable e) {
                faults.forEach(fault -> outcomes.get(fault).completeExceptionally(e));
            }
        }));
    }

    Stream<DynamicTest> tests() {
        return outcomes.entrySet().stream()
                .map(entry -> dynamicTest(entry.getKey().toString(), () -> result(entry.getValue())));
    }

    /** All of them, which are waited for. */
    List<O> outcomes() throws Exception {
        var all = new ArrayList<O>();
        for (var outcome : outcomes.values()) {
            all.add(result(outcome));
        }
        return all;
    }

    /** Waits for the result. What was thrown is thrown as it is, so that JUnit sees a missing requirement as one. */
    static <T> T result(Future<T> outcome) throws Exception {
        try {
            return outcome.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case Exception cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }

    void join() throws InterruptedException {
        for (var sufferer : sufferers) {
            sufferer.join();
        }
    }

    private void suffer(F fault, Suffering<F, O> suffering) {
        try {
            outcomes.get(fault).complete(suffering.suffer(fault));
        } catch (Throwable e) { // an assertion that failed, too
            outcomes.get(fault).completeExceptionally(e);
        }
    }
}
