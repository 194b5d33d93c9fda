package dev.genv.enforcer.e2e.fault;

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
public final class ParallelFaults<F, O> {
    private final Map<F, CompletableFuture<O>> outcomes = new LinkedHashMap<>();
    private final List<Thread> threads = new ArrayList<>();

    /** Suffers one fault. */
    public interface Injection<F, O> {
        O inject(F fault) throws Exception;
    }

    /** Where faults are suffered: made, told how to suffer each of them, and taken down again. */
    public interface Setup<F, O> {
        void run(All<F, O> all) throws Exception;
    }

    /** Suffers all faults of a list. */
    interface All<F, O> {
        void inject(Injection<F, O> injection);
    }

    /** The faults in their order, in so many lists of about the same length. */
    static <F> List<List<F>> split(List<F> faults, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> faults.subList(faults.size() * i / count, faults.size() * (i + 1) / count))
                .toList();
    }

    void start(List<F> faults, Setup<F, O> place) {
        faults.forEach(fault -> outcomes.put(fault, new CompletableFuture<>()));
        threads.add(Thread.ofPlatform().start(() -> {
            try {
                place.run(injection -> faults.forEach(fault -> inject(fault, injection)));
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
    public static <T> T result(Future<T> outcome) throws Exception {
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
        for (var thread : threads) {
            thread.join();
        }
    }

    private void inject(F fault, Injection<F, O> injection) {
        try {
            outcomes.get(fault).complete(injection.inject(fault));
        } catch (Throwable e) { // an assertion that failed, too
            outcomes.get(fault).completeExceptionally(e);
        }
    }
}
