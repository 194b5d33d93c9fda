package dev.genv.enforcer.notification.webhook;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Instant;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs a request as Standard Webhooks defines it: HMAC-SHA-256 over the id, the time and the body, separated by dots.
 *
 * @param secret {@code whsec_} and the key in Base64, or any other text, whose bytes are the key
 */
record WebhookSignature(String secret) {
    private static final String PREFIX = "whsec_";
    private static final String ALGORITHM = "HmacSHA256";

    /**
     * Returns the value of the header {@code webhook-signature}.
     *
     * @throws IOException if the key is empty or not valid Base64
     */
    String of(String id, Instant at, byte[] body) throws IOException {
        try {
            var mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(key(), ALGORITHM));
            mac.update("%s.%d.".formatted(id, at.getEpochSecond()).getBytes(StandardCharsets.UTF_8));
            return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java runtime has this algorithm", e);
        }
    }

    /**
     * Returns the key.
     *
     * @throws IOException if it is empty or not valid Base64; the message never has the secret
     */
    byte[] key() throws IOException {
        if (secret.equals(PREFIX)) {
            throw new IOException("after %s it has no key".formatted(PREFIX));
        }
        try {
            return secret.startsWith(PREFIX)
                    ? Base64.getDecoder().decode(secret.substring(PREFIX.length()))
                    : secret.getBytes(StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw new IOException("after %s its content is no Base64".formatted(PREFIX), e);
        }
    }
}
