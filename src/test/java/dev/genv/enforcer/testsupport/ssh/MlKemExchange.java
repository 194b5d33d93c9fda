package dev.genv.enforcer.testsupport.ssh;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.KEM;
import org.apache.sshd.common.digest.BuiltinDigests;
import org.apache.sshd.common.digest.Digest;
import org.apache.sshd.common.kex.AbstractDH;
import org.apache.sshd.common.kex.DHFactory;
import org.apache.sshd.common.kex.KeyEncapsulationMethod;
import org.apache.sshd.common.kex.MontgomeryCurve;
import org.apache.sshd.common.kex.XDH;

/**
 * The key exchange {@code mlkem768x25519-sha256} of a server, with ML-KEM of the JDK. Apache MINA has it only with Bouncy Castle, which would
 * change the client in the tests too, and OpenSSH only since 9.9.
 */
public final class MlKemExchange implements DHFactory, KeyEncapsulationMethod {
    private static final int PUBLIC_KEY_LENGTH = 1184;
    /** What precedes the key in an X.509 SubjectPublicKeyInfo (RFC 9935). */
    private static final byte[] X509_PREFIX = HexFormat.of().parseHex("308204b2300b0609608648016503040402038204a100");

    @Override
    public String getName() {
        return "mlkem768x25519-sha256";
    }

    @Override
    public boolean isSupported() {
        return true;
    }

    @Override
    public boolean isGroupExchange() {
        return false;
    }

    @Override
    public AbstractDH create(Object... parameters) throws Exception {
        return new XDH(MontgomeryCurve.x25519, true) {
            @Override
            public Digest getHash() {
                return BuiltinDigests.sha256.create();
            }

            @Override
            public KeyEncapsulationMethod getKeyEncapsulation() {
                return MlKemExchange.this;
            }
        };
    }

    @Override
    public Client getClient() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Server getServer() {
        return new Encapsulation();
    }

    private static final class Encapsulation implements Server {
        private KEM.Encapsulated made;

        @Override
        public int getPublicKeyLength() {
            return PUBLIC_KEY_LENGTH;
        }

        /** Returns what follows the key, which is that of the curve. */
        @Override
        public byte[] init(byte[] keys) {
            var encoded = new byte[X509_PREFIX.length + PUBLIC_KEY_LENGTH];
            System.arraycopy(X509_PREFIX, 0, encoded, 0, X509_PREFIX.length);
            System.arraycopy(keys, 0, encoded, X509_PREFIX.length, PUBLIC_KEY_LENGTH);
            try {
                var key = KeyFactory.getInstance("ML-KEM-768").generatePublic(new X509EncodedKeySpec(encoded));
                made = KEM.getInstance("ML-KEM").newEncapsulator(key).encapsulate();
            } catch (GeneralSecurityException e) {
                throw new IllegalArgumentException(e);
            }
            return Arrays.copyOfRange(keys, PUBLIC_KEY_LENGTH, keys.length);
        }

        @Override
        public byte[] getSecret() {
            return made.key().getEncoded();
        }

        @Override
        public byte[] getEncapsulation() {
            return made.encapsulation();
        }
    }
}
