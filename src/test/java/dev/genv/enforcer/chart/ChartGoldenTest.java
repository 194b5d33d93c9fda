package dev.genv.enforcer.chart;

import dev.genv.enforcer.testsupport.GeneratedSection;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The whole output for some values, so that a change of the chart shows all its effects. */
class ChartGoldenTest {
    private static final Path FOLDER = Path.of("src/test/resources/chart");

    @Test
    void defaultsRenderAsRecorded() throws IOException {
        GeneratedSection.assertFile(
                FOLDER.resolve("default.yaml"), RenderedChart.of("").text());
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "remote", "existing"})
    void examplesRenderAsRecorded(String name) throws IOException {
        GeneratedSection.assertFile(
                FOLDER.resolve(name + ".yaml"), RenderedChart.ofExample(name).text());
    }
}
