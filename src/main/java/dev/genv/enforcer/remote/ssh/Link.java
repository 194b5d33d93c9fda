package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Session;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Request;

/** A host on which one is logged in. */
final class Link implements AutoCloseable {
    private final Session session;
    private final Lifeline lifeline;
    private final Chatter chatter;

    Link(Session session, Lifeline lifeline, Chatter chatter) {
        this.session = session;
        this.lifeline = lifeline;
        this.chatter = chatter;
    }

    Chatter chatter() {
        return chatter;
    }

    /** Whether it is, as far as is known on this side. */
    boolean isUp() {
        return session.isConnected() && !lifeline.isCut();
    }

    /**
     * Runs a command.
     *
     * @throws NotOpenedException where nothing of it can have reached the host; the link is of no use then
     */
    Answer run(Request request) throws NotOpenedException, InterruptedException {
        chatter.renew();
        return new Command(this, channel(), request).run();
    }

    private ChannelExec channel() throws NotOpenedException {
        try {
            if (isUp() && session.openChannel("exec") instanceof ChannelExec channel) {
                return channel;
            }
        } catch (JSchException _) {
            // it went down since
        }
        close();
        throw new NotOpenedException("the connection is lost", false);
    }

    @Override
    public void close() {
        lifeline.cut();
    }

    /** A command that did not get so far as to be said to the host. */
    static final class NotOpenedException extends Exception {
        private static final long serialVersionUID = 1L;

        private final boolean late;

        NotOpenedException(String message, boolean late) {
            super(message);
            this.late = late;
        }

        /** Whether all the time of the command has gone by over it. */
        boolean isLate() {
            return late;
        }
    }
}
