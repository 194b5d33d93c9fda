package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import com.jcraft.jsch.Channel;
import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.JSch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PacketSizeLimitTest {
    /**
     * Private fields may change their meaning. Before this version is changed, compare in JSch's Channel and Session: the buffer of
     * an output has {@code rmpsize} bytes, and {@code open_confirmation} is true once the server has opened the channel.
     */
    @Test
    void fieldsBelongToThisVersionOfJsch() {
        assertThat(JSch.VERSION).isEqualTo("2.28.8");
    }

    @ParameterizedTest
    @CsvSource({"100, 100", "32768, 32768", "32769, 32768", "2147483647, 32768", "-1, 0"})
    void isLimitedToTheAllowedRange(int wanted, int limited) throws Exception {
        var field = Channel.class.getDeclaredField("rmpsize");
        field.setAccessible(true);
        var channel = new ChannelExec();
        field.setInt(channel, wanted);

        PacketSizeLimit.limit(channel);

        assertThat(field.getInt(channel)).isEqualTo(limited);
    }
}
