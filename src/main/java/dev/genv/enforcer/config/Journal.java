package dev.genv.enforcer.config;

import io.quarkus.bootstrap.logging.InitialConfigurator;
import io.quarkus.runtime.StartupEvent;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.jboss.logmanager.ExtFormatter;
import org.jboss.logmanager.ExtHandler;
import org.jboss.logmanager.ExtLogRecord;
import org.jboss.logmanager.handlers.ConsoleHandler;

/** The journal of systemd as the reader of the log: it takes the priority of each line from a prefix, see sd-daemon(3). */
@Singleton
final class Journal {
    /** Standard output. */
    static final Path OUT = Path.of("/proc/self/fd/1");
    /** Standard error. */
    static final Path ERR = Path.of("/proc/self/fd/2");

    private Journal() {}

    /**
     * Whether the journal reads a stream: systemd names its socket by device and inode in {@code JOURNAL_STREAM}, see systemd.exec(5). A
     * program that the service starts may inherit the variable and have another stream.
     */
    static boolean reads(Path stream, Map<String, String> environment) {
        var name = environment.get("JOURNAL_STREAM");
        if (name == null) {
            return false;
        }
        try {
            var status = Files.readAttributes(stream, "unix:dev,ino");
            return name.equals(status.get("dev") + ":" + status.get("ino"));
        } catch (IOException e) {
            return false; // the stream is closed
        }
    }

    /** Omits the time of each line, which the journal has too, unless an administrator chose a format. */
    static void omitTimes() {
        if (System.getenv("QUARKUS_LOG_CONSOLE_FORMAT") == null) {
            System.setProperty("quarkus.log.console.format", "%-5p [%c{3.}] (%t) %s%e%n");
        }
    }

    /** Writes why the service does not start, a line, to standard error. */
    static void error(String line) {
        System.err.println(reads(ERR, System.getenv()) ? prefixed(Level.SEVERE, line) : line);
    }

    /** Adds the priorities to the log at the latest here. */
    void start(@Observes @Priority(1) StartupEvent event) {
        addPriorities();
    }

    /** Adds the priorities to the log, once. The first bean that logs calls it. */
    static void addPriorities() {
        var isSingleCycle = Boolean.getBoolean("quarkus.log.console.stderr");
        if (reads(isSingleCycle ? ERR : OUT, System.getenv())) {
            addPriorities(InitialConfigurator.DELAYED_HANDLER);
        }
    }

    /** A handler may write by others. Those of files, syslog and sockets stay as they are. */
    private static void addPriorities(Handler handler) {
        if (handler instanceof ExtHandler outer) {
            Stream.of(outer.getHandlers()).forEach(Journal::addPriorities);
        }
        if (handler instanceof ConsoleHandler
                && handler.getFormatter() instanceof ExtFormatter formatter
                && !(formatter instanceof PriorityFormatter)) {
            handler.setFormatter(new PriorityFormatter(formatter));
        }
    }

    /** Returns a text with the priority of a level before each of its lines. */
    static String prefixed(Level level, String text) {
        var value = level.intValue();
        var prefix = value >= Level.SEVERE.intValue()
                ? "<3>"
                : value >= Level.WARNING.intValue() ? "<4>" : value >= Level.INFO.intValue() ? "<6>" : "<7>";
        return prefix + text.stripTrailing().replace("\n", "\n" + prefix);
    }

    /** Writes each line of a record with its priority. */
    static final class PriorityFormatter extends ExtFormatter.Delegating {
        PriorityFormatter(ExtFormatter formatter) {
            super(formatter);
        }

        @Override
        public String format(ExtLogRecord line) {
            return prefixed(line.getLevel(), super.format(line)) + "\n";
        }
    }
}
