package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Delivery.DeliveryStatistics;
import dev.genv.enforcer.notification.Outbox.Batch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * Writes to the terminals of users of this node. A message is written once and never repeated. Nothing is written for root, whose
 * terminals are those of the administrators.
 */
public final class TerminalDelivery implements Delivery {
    private static final Logger LOG = Logger.getLogger(TerminalDelivery.class);
    private static final Duration COLLECTED = Duration.ofSeconds(1);
    private static final int PER_HOUR = 30;
    private static final int MOST_TERMINALS = 16;
    private static final Duration IDLE = Duration.ofHours(1);

    private final NoticeReader reader;
    private final UserDirectory users;
    private final TerminalText text;
    private final ControllingTerminals controlling;
    private final TerminalFiles files;
    private final Outbox<Long> outbox;
    private final DeliveryStatistics statistics;

    /** Creates a delivery on the node with this proc file system and this name. */
    public TerminalDelivery(
            NoticeReader reader, UserDirectory users, NoticeText text, Path proc, String host, Ticker ticker) {
        this.reader = reader;
        this.users = users;
        this.text = new TerminalText(text, SafeText.escape(host));
        controlling = new ControllingTerminals(proc);
        files = new TerminalFiles(terminalsOf(proc));
        outbox = new Outbox<>(COLLECTED, PER_HOUR, ticker);
        statistics = new DeliveryStatistics(ticker);
    }

    /** Returns the terminals of the machine, as its first process sees them; the service's own if access is denied. */
    private static Path terminalsOf(Path proc) {
        var first = proc.resolve("1/root");
        return Files.isDirectory(first) ? first.resolve("dev/pts") : Path.of("/dev/pts");
    }

    @Override
    public String name() {
        return "terminal";
    }

    @Override
    public void begin(EventLog log) {
        reader.begin(log);
    }

    @Override
    public Duration run(EventLog log) {
        var more = reader.read(log, this::collect, statistics::countDropped);
        if (outbox.isDue()) {
            writeDue();
        }
        statistics.setWaiting(outbox.size(), outbox.oldest().orElse(null));
        return Stream.of(outbox.untilDue(), more)
                .flatMap(Optional::stream)
                .min(Comparator.naturalOrder())
                .orElse(IDLE);
    }

    private void collect(PersonalNotice personal) {
        personal.violation().violation().hosts().stream()
                .findFirst()
                .map(host -> users.ownerOf(host, personal.uid()))
                .filter(uid -> uid != 0)
                .filter(uid -> !outbox.add(uid, personal))
                .ifPresent(_ -> statistics.countDropped(1));
    }

    private void writeDue() {
        try {
            var byUid = controlling.byUid();
            outbox.takeDue(batch -> write(batch, byUid));
        } catch (IOException e) {
            outbox.takeDue(_ -> statistics.countFailed("the processes cannot be listed: " + Errno.textOf(e)));
        }
    }

    private void write(Outbox.Batch<Long> batch, Map<Long, Set<Integer>> byUid) {
        var bytes = text.of(batch);
        byUid.getOrDefault(batch.person(), Set.of()).stream()
                .limit(MOST_TERMINALS)
                .forEach(number -> write(number, batch.person(), bytes));
    }

    private void write(int number, long uid, byte[] bytes) {
        try {
            switch (files.write(number, uid, bytes)) {
                case WRITTEN -> statistics.countSent();
                case REFUSED -> LOG.debugf("Terminal pts/%d does not accept messages for uid %d", number, uid);
                case NOT_READ -> LOG.debugf("No program reads terminal pts/%d of uid %d", number, uid);
            }
        } catch (Errno e) {
            if (!e.is(Errno.ENOENT)) { // it was closed in the meantime, or exists only in a container
                fail(e);
            }
        } catch (IOException e) {
            fail(e);
        }
    }

    private void fail(IOException why) {
        statistics.countFailed("a terminal cannot be written: " + Errno.textOf(why));
    }

    @Override
    public DeliveryStatistics statistics() {
        return statistics;
    }

    /** The text of a message on a terminal of this node. */
    record TerminalText(NoticeText notices, String host) {
        /** A terminal may be in raw mode, and then needs a carriage return. */
        private static final String LINE = "\r\n";

        private static final int MOST_SHOWN = 3;

        byte[] of(Batch<Long> batch) {
            var shown = batch.notices().stream()
                    .limit(MOST_SHOWN)
                    .map(this::line)
                    .collect(Collectors.joining(LINE, LINE, LINE));
            var rest = batch.notices().size() - MOST_SHOWN + batch.omitted();
            var text = batch.notices().size() <= MOST_SHOWN && batch.omitted() == 0
                    ? shown
                    : shown + "genv-enforcer: and %d more messages about your processes".formatted(rest) + LINE;
            return text.getBytes(StandardCharsets.UTF_8);
        }

        private String line(PersonalNotice personal) {
            return "genv-enforcer on %s, %s: %s"
                    .formatted(host, NoticeText.time(personal.notice().at()), notices.paragraph(personal));
        }
    }
}
