package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchChangedHostKeyException;
import com.jcraft.jsch.JSchHostKeyException;
import com.jcraft.jsch.JSchRevokedHostKeyException;
import com.jcraft.jsch.JSchSessionDisconnectException;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.KeyFiles.KnownHosts;
import java.io.IOException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Explains why a login failed, and what an administrator can do about it. */
record SshFailures(JSch jsch, Hop hop, KnownHosts keys) {
    private static final int LONGEST = 200;

    /**
     * Converts a failure of JSch.
     *
     * @param shown the host key that the server presented; null if it presented none
     */
    UnreachableException explain(Throwable failure, @Nullable HostKey shown) {
        if (failure instanceof JSchHostKeyException refusal) {
            return key(refusal, shown);
        }
        if (failure instanceof JSchSessionDisconnectException end) {
            return ended(end);
        }
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof IOException io) {
                return network(io, failure);
            }
        }
        var words = SafeText.escape(String.valueOf(failure.getMessage()), LONGEST);
        if (words.startsWith("Auth ") || words.startsWith("USERAUTH ")) {
            return login("it refuses the key of " + hop.user(), failure);
        }
        if (words.startsWith("connection is closed by foreign host")) {
            return new UnreachableException(
                    ProblemCode.CONNECTION_LOST, "it closed the connection before the login", failure);
        }
        return new UnreachableException(ProblemCode.SSH_FAILED, "SSH with it failed: " + words, failure);
    }

    static UnreachableException login(String words, Throwable cause) {
        return new UnreachableException(ProblemCode.AUTHENTICATION_FAILED, words, cause);
    }

    private UnreachableException key(JSchHostKeyException refusal, @Nullable HostKey shown) {
        var file = keys.getKnownHostsRepositoryID();
        var key = shown == null ? "its key" : "its key (" + shown.getType() + " " + shown.getFingerPrint(jsch) + ")";
        if (refusal instanceof JSchRevokedHostKeyException) {
            return new UnreachableException(ProblemCode.HOST_KEY_CHANGED, key + " is revoked in " + file, refusal);
        }
        if (refusal instanceof JSchChangedHostKeyException || keys.knows(hop.keyName())) {
            var advice = " is not the one in " + file + " for " + hop.keyName()
                    + ": another machine may intercept the connection; if the key was changed on purpose, compare it on the host and replace it there";
            return new UnreachableException(ProblemCode.HOST_KEY_CHANGED, key + advice, refusal);
        }
        var advice =
                "%s is not in %s: compare it on the host (ssh-keygen -lf), then add the line of ssh-keyscan -p %d %s"
                        .formatted(key, file, hop.port(), hop.host());
        return new UnreachableException(ProblemCode.HOST_KEY_UNKNOWN, advice, refusal);
    }

    private UnreachableException ended(JSchSessionDisconnectException end) {
        var words = SafeText.escape(String.valueOf(end.getDescription()), LONGEST);
        return words.toLowerCase(Locale.ROOT).contains("authentication failures")
                ? login("it refuses the keys of " + hop.user() + ": " + words, end)
                : new UnreachableException(ProblemCode.SSH_FAILED, "it ended the connection: " + words, end);
    }

    private UnreachableException network(IOException io, Throwable failure) {
        var where = hop.host() + " port " + hop.port();
        var words = SafeText.escape(String.valueOf(io.getMessage()), LONGEST);
        return switch (io) {
            case UnknownHostException _ ->
                new UnreachableException(ProblemCode.DNS_FAILED, "there is no address for " + hop.host(), failure);
            case SocketTimeoutException _ ->
                new UnreachableException(
                        ProblemCode.CONNECT_TIMEOUT, "no answer in time from " + where + ": " + words, failure);
            case SocketException _
            when !words.startsWith("Connection reset") && !words.startsWith("Broken pipe") ->
                new UnreachableException(
                        ProblemCode.HOST_UNREACHABLE, "no connection to " + where + ": " + words, failure);
            default ->
                new UnreachableException(
                        ProblemCode.CONNECTION_LOST, "the connection was lost before the login: " + words, failure);
        };
    }
}
