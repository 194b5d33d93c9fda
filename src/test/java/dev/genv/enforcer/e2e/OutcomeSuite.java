package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;

/**
 * Cases that run in parallel, and a table of their outcomes. It is written under {@code target}, and a page of the documents must contain it.
 *
 * @param <C> a case; its text is its name
 * @param <O> the outcome of a case
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
public abstract class OutcomeSuite<C, O> {
    private final Map<C, CompletableFuture<O>> outcomes = new LinkedHashMap<>();
    private final ExecutorService executor;
    private final Path page;
    private final String marker;
    private final String[] columns;

    /**
     * Runs the cases on this executor.
     *
     * @param page the file of the documents that holds the table, such as {@code faults.md}
     * @param marker the markers in the page between which it lies
     */
    protected OutcomeSuite(ExecutorService executor, String page, String marker, String... columns) {
        this.executor = executor;
        this.page = Path.of("src/site/markdown", page);
        this.marker = marker;
        this.columns = columns;
    }

    /** A way to run one case. */
    public interface Run<C, O> {
        O run(C each) throws Exception;
    }

    /** A place in which cases run: it is created, runs each case, and is closed. */
    public interface Place<C, O> {
        void run(Cases<C, O> all) throws Exception;
    }

    /** Runs all cases of a list. */
    public interface Cases<C, O> {
        void run(Run<C, O> run);
    }

    /** Returns the row of an outcome. */
    protected abstract String[] cells(O outcome) throws IOException;

    /** Runs the cases in a place of their own, one after the other. */
    protected void start(List<C> cases, Place<C, O> place) {
        cases.forEach(each -> outcomes.put(each, new CompletableFuture<>()));
        executor.execute(() -> {
            try {
                place.run(run -> cases.forEach(each -> complete(each, run)));
            } catch (Throwable e) {
                cases.forEach(each -> outcomes.get(each).completeExceptionally(e));
            }
        });
    }

    private void complete(C each, Run<C, O> run) {
        try {
            outcomes.get(each).complete(run.run(each));
        } catch (Throwable e) { // also a failed assertion
            outcomes.get(each).completeExceptionally(e);
        }
    }

    @TestFactory
    @Order(1)
    Stream<DynamicTest> caseHasTheExpectedOutcome() {
        return outcomes.entrySet().stream()
                .map(entry -> dynamicTest(entry.getKey().toString(), () -> result(entry.getValue())));
    }

    @Test
    @Order(2)
    void pageListsTheOutcomes() throws Exception {
        var lines = new ArrayList<String>();
        lines.add(row(columns));
        lines.add("| --- ".repeat(columns.length) + "|");
        for (var outcome : outcomes.values()) {
            lines.add(row(cells(result(outcome))));
        }
        var table = String.join("\n", lines) + "\n";
        var file = Files.writeString(Path.of("target", marker + ".md"), table);
        assertThat(Files.readString(page))
                .as("copy %s into %s, between the two markers", file, page)
                .contains("<!-- %1$s -->\n%2$s<!-- /%1$s -->".formatted(marker, table));
    }

    @AfterAll
    void awaitEnd() {
        executor.close();
    }

    private static String row(String... cells) {
        return "| " + String.join(" | ", cells) + " |";
    }

    /** Waits for a result. It throws the original exception, so that JUnit recognises a missing requirement. */
    private static <T> T result(CompletableFuture<T> outcome) throws Exception {
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
}
