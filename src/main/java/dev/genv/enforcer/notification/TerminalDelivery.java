package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.PersonalDelivery.Outbox.Batch;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/**
 * Writes to the terminals of users of this node. A message is written once and never repeated. Nothing is written for root, whose
 * terminals are those of the administrators.
 */
public final class TerminalDelivery extends PersonalDelivery<Long> {
    private static final Logger LOG = Logger.getLogger(TerminalDelivery.class);
    private static final Duration COLLECTED = Duration.ofSeconds(1);
    private static final int PER_HOUR = 30;
    private static final int MOST_TERMINALS = 16;

    /** A terminal may be in raw mode, and then needs a carriage return. */
    private static final String LINE = "\r\n";

    private static final int MOST_SHOWN = 3;

    private final Terminals terminals;
    private final String host;

    /** Creates a delivery on the node with this proc file system and this name. */
    public TerminalDelivery(MessageSource source, Path proc, String host, Ticker ticker, MeterRegistry registry) {
        super("terminal", source, new Limits(COLLECTED, PER_HOUR), ticker, registry);
        terminals = Terminals.of(proc);
        this.host = SafeText.escape(host);
    }

    @Override
    Optional<Long> person(PersonalNotice personal) {
        return personal.violation().violation().hosts().stream()
                .findFirst()
                .map(first -> source.users().ownerOf(first, personal.uid()))
                .filter(uid -> uid != 0);
    }

    @Override
    Optional<Duration> deliver() {
        if (outbox.isDue()) {
            writeDue();
        }
        return Optional.empty();
    }

    private void writeDue() {
        try {
            var byUid = terminals.byUid();
            outbox.takeDue(batch -> write(batch, byUid));
        } catch (IOException e) {
            outbox.takeDue(_ -> statistics().countFailed("the processes cannot be listed: " + Errno.textOf(e)));
        }
    }

    private void write(Batch<Long> batch, Map<Long, Set<Integer>> byUid) {
        var bytes = text(batch);
        byUid.getOrDefault(batch.person(), Set.of()).stream()
                .limit(MOST_TERMINALS)
                .forEach(number -> write(number, batch.person(), bytes));
    }

    private void write(int number, long uid, byte[] bytes) {
        try {
            switch (terminals.write(number, uid, bytes)) {
                case WRITTEN -> statistics().countSent();
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
        statistics().countFailed("a terminal cannot be written: " + Errno.textOf(why));
    }

    private byte[] text(Batch<Long> batch) {
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
                .formatted(
                        host,
                        NoticeText.time(personal.notice().at()),
                        source.text().paragraph(personal));
    }
}
