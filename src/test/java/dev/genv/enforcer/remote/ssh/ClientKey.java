package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A private key to log in with.
 *
 * @param publicKey as authorized_keys has it
 */
public record ClientKey(Path file, String publicKey) {

    public static ClientKey create(Path directory) throws IOException {
        return create(directory, "id", null);
    }

    public static ClientKey create(Path directory, String name, @Nullable String passphrase) throws IOException {
        try {
            var pair = KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256);
            var secret = new ByteArrayOutputStream();
            var open = new ByteArrayOutputStream();
            pair.writeOpenSSHv1PrivateKey(
                    secret, passphrase == null ? null : passphrase.getBytes(StandardCharsets.UTF_8));
            pair.writePublicKey(open, "test");
            var file = Files.write(directory.resolve(name), secret.toByteArray());
            return new ClientKey(file, open.toString(StandardCharsets.UTF_8).strip());
        } catch (JSchException e) {
            throw new IOException(e);
        }
    }
}
