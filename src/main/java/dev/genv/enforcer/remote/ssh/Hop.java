package dev.genv.enforcer.remote.ssh;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One server on the way to a host, and at last the host itself.
 *
 * @param name how it is called
 * @param host what is connected to: a name or an address
 * @param keyAlias the name under which its key is known; null where that is {@code host} and the port
 * @param identities private keys to log in with, the first ones first
 * @param knownHosts where its key must be
 */
record Hop(
        String name,
        String user,
        String host,
        int port,
        @Nullable String keyAlias,
        List<Path> identities,
        List<Path> knownHosts) {

    /** Its name in a file of known hosts. */
    String keyName() {
        if (keyAlias != null) {
            return keyAlias;
        }
        return port == 22 ? host : "[" + host + "]:" + port;
    }
}
