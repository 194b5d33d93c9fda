package dev.genv.enforcer.model;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** SHA-256 (FIPS 180-4), which every Java platform has to implement. */
public final class Sha256 {
    private Sha256() {}

    /** Returns the 32 bytes of the digest of the concatenated parts. */
    public static byte[] digest(byte[]... parts) {
        try {
            var digest = MessageDigest.getInstance("SHA-256");
            for (var part : parts) {
                digest.update(part);
            }
            return digest.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the digest as 64 lower-case hexadecimal digits. */
    public static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(digest(bytes));
    }
}
