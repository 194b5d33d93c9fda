package dev.genv.enforcer.remote.ssh;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One server on the path to a machine, or the machine itself.
 *
 * @param name its name in the host list or the SSH configuration
 * @param host the name or address to connect to
 * @param keyAlias the name of its entry in known_hosts (HostKeyAlias); null for {@code host} and the port
 * @param identities private keys to log in with, in the order of use
 * @param knownHosts the files that must contain its host key
 */
public record Hop(
        String name,
        String user,
        String host,
        int port,
        @Nullable String keyAlias,
        List<Path> identities,
        List<Path> knownHosts) {

    /** Its name in a known_hosts file. */
    public String keyName() {
        if (keyAlias != null) {
            return keyAlias;
        }
        return port == 22 ? host : "[" + host + "]:" + port;
    }
}
