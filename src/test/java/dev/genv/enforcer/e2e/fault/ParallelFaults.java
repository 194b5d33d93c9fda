package dev.genv.enforcer.e2e.fault;

import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Lists of faults that run in parallel, each list in its own place and one fault after the other.
 *
 * @param <F> the fault; its text is its name
 * @param <O> the outcome of a fault
 */
public final class ParallelFaults<F, O> {
    private final Map<F, CompletableFuture<O>> outcomes = new LinkedHashMap<>();
    private final List<Thread> threads = new ArrayList<>();

    /** Runs one fault. */
    public interface Injection<F, O> {
        O inject(F fault) throws Exception;
    }

    /** A place in which faults run: it is created, runs each fault, and is closed. */
    public interface Setup<F, O> {
        void run(All<F, O> all) throws Exception;
    }

    /** Runs all faults of a list. */
    public interface All<F, O> {
        void inject(Injection<F, O> injection);
    }

    public void start(List<F> faults, Setup<F, O> place) {
        faults.forEach(fault -> outcomes.put(fault, new CompletableFuture<>()));
        threads.add(Thread.ofPlatform().start(() -> {
            try {
                place.run(injection -> faults.forEach(fault -> inject(fault, injection)));
            } catch (Throwable e) {
                faults.forEach(fault -> outcomes.get(fault).completeExceptionally(e));
            }
        }));
    }

    public Stream<DynamicTest> tests() {
        return outcomes.entrySet().stream()
                .map(entry -> dynamicTest(entry.getKey().toString(), () -> result(entry.getValue())));
    }

    /** Waits for all outcomes. */
    public List<O> outcomes() throws Exception {
        var all = new ArrayList<O>();
        for (var outcome : outcomes.values()) {
            all.add(result(outcome));
        }
        return all;
    }

    /** Waits for a result. It throws the original exception, so that JUnit recognises a missing requirement. */
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

    public void join() throws InterruptedException {
        for (var thread : threads) {
            thread.join();
        }
    }

    private void inject(F fault, Injection<F, O> injection) {
        try {
            outcomes.get(fault).complete(injection.inject(fault));
        } catch (Throwable e) { // also a failed assertion
            outcomes.get(fault).completeExceptionally(e);
        }
    }
}
