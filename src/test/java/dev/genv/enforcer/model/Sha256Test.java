package dev.genv.enforcer.model;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class Sha256Test {
    /** The example of FIPS 180-4 for one block. */
    @Test
    void computesThePublishedExample() {
        assertThat(Sha256.hex("abc".getBytes(US_ASCII)))
                .isEqualTo("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    @Test
    void joinsTheParts() {
        assertThat(Sha256.digest("a".getBytes(US_ASCII), new byte[0], "bc".getBytes(US_ASCII)))
                .isEqualTo(Sha256.digest("abc".getBytes(US_ASCII)));
    }
}
