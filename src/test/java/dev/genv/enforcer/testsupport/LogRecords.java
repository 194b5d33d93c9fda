package dev.genv.enforcer.testsupport;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Captures the log of a class until it is closed; other handlers do not get it. */
public final class LogRecords extends Handler implements AutoCloseable {
    private final Logger logger;
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    private LogRecords(Logger logger) {
        this.logger = logger;
    }

    public static LogRecords of(String name) {
        var logger = Logger.getLogger(name);
        var records = new LogRecords(logger);
        logger.setUseParentHandlers(false);
        logger.addHandler(records);
        return records;
    }

    /** Returns the messages until now. */
    public List<String> lines() {
        return List.copyOf(lines);
    }

    @Override
    public void publish(LogRecord record) {
        var message = record.getMessage();
        lines.add(record.getParameters() == null ? message : message.formatted(record.getParameters()));
    }

    @Override
    public void flush() {
        // Records are not buffered.
    }

    @Override
    public void close() {
        logger.removeHandler(this);
        logger.setUseParentHandlers(true);
    }
}
