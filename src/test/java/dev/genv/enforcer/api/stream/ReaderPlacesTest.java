package dev.genv.enforcer.api.stream;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReaderPlacesTest {
    private final ReaderPlaces places = new ReaderPlaces(3, 2);

    @Test
    void oneAddressCannotTakeAllPlaces() {
        assertThat(places.take("a")).isTrue();
        assertThat(places.take("a")).isTrue();
        assertThat(places.take("a")).isFalse();
        assertThat(places.take("b")).isTrue();
        assertThat(places.refused()).isEqualTo(1);
    }

    @Test
    void allPlacesTogetherAreBounded() {
        assertThat(places.take("a")).isTrue();
        assertThat(places.take("b")).isTrue();
        assertThat(places.take("c")).isTrue();
        assertThat(places.take("d")).isFalse();
    }

    @Test
    void placeIsFreeAfterItsRelease() {
        places.take("a");
        places.take("a");
        places.release("a");
        assertThat(places.take("a")).isTrue();
        places.release("a");
        places.release("a");
        assertThat(places.take("b")).isTrue();
        assertThat(places.take("b")).isTrue();
        assertThat(places.take("a")).isTrue();
        assertThat(places.take("a")).isFalse();
    }
}
