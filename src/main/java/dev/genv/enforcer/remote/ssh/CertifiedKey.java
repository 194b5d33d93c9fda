package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.Identity;
import com.jcraft.jsch.JSchException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/**
 * A private key with its certificate, which the server accepts if it trusts the authority. JSch finds a certificate only beside a file, and
 * has ssh-agent sign with SHA-1 for an RSA certificate.
 */
final class CertifiedKey implements Identity {
    private static final String CERTIFICATE = "-cert-v01@openssh.com";

    private final Identity key;
    /** The kind of the certificate. */
    private final String type;
    /** The certificate, as PROTOCOL.certkeys of OpenSSH describes it. */
    private final byte[] blob;

    private CertifiedKey(Identity key, String type, byte[] blob) {
        this.key = key;
        this.type = type;
        this.blob = blob;
    }

    /**
     * Returns the key of a certificate with it; empty if it is not among these.
     *
     * @param line the content of a file of ssh-keygen
     * @throws IllegalArgumentException if it is invalid
     */
    static Optional<CertifiedKey> find(String line, List<Identity> keys) {
        var words = line.strip().split("\\s+", 3);
        if (words.length < 2 || !words[0].endsWith(CERTIFICATE)) {
            throw new IllegalArgumentException("it has no line that begins with the kind of a certificate");
        }
        var blob = Base64.getDecoder().decode(words[1]);
        try {
            var rest = ByteBuffer.wrap(blob);
            var type = text(rest);
            text(rest); // the nonce, then the public key
            return keys.stream()
                    .filter(key -> startsWithKey(rest.slice(), key))
                    .findFirst()
                    .map(key -> new CertifiedKey(key, type, blob));
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("it is cut off", e);
        }
    }

    /** Returns a key of ssh-agent, which may itself be one with a certificate. */
    static Identity ofAgent(Identity key) {
        return key.getAlgName().endsWith(CERTIFICATE)
                ? new CertifiedKey(key, key.getAlgName(), key.getPublicKeyBlob())
                : key;
    }

    private static boolean startsWithKey(ByteBuffer certificate, Identity key) {
        var encoded = key.getPublicKeyBlob();
        if (encoded == null) {
            return false;
        }
        var parts = ByteBuffer.wrap(encoded);
        text(parts); // its kind
        return certificate.mismatch(parts) == parts.remaining();
    }

    private static String text(ByteBuffer from) {
        var length = from.getInt();
        if (length < 0 || length > from.remaining()) {
            throw new BufferUnderflowException();
        }
        var bytes = new byte[length];
        from.get(bytes);
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    @Override
    public String getAlgName() {
        return type;
    }

    @Override
    public byte[] getPublicKeyBlob() {
        return blob.clone();
    }

    /** The signature is that of the key alone. */
    @Override
    public byte[] getSignature(byte[] data, String algorithm) {
        return key.getSignature(data, algorithm.replace(CERTIFICATE, ""));
    }

    @Override
    public byte[] getSignature(byte[] data) {
        return key.getSignature(data);
    }

    @Override
    public String getName() {
        return key.getName();
    }

    @Override
    public boolean setPassphrase(byte[] passphrase) throws JSchException {
        return key.setPassphrase(passphrase);
    }

    @Override
    public boolean isEncrypted() {
        return key.isEncrypted();
    }

    @Override
    public void clear() {
        key.clear();
    }
}
