package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.GeneratedSection;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.ConfigMappings.ConfigClass;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** The reference page lists every setting with the words, the bounds and the default of the code. */
class SettingsPageTest {
    private static final Path PAGE = Path.of("src/site/markdown/settings.md");
    private static final Path APPLICATION = Path.of("src/main/resources/application.properties");

    @Test
    void listsEverySettingInTheOrderOfTheCode() throws IOException {
        var page = new StringBuilder();
        for (var group : SettingsReader.GROUPS) {
            page.append("\n## ").append(DocumentedGroup.of(group).toMarkdown());
        }
        GeneratedSection.assertSection(PAGE, "settings", page.append('\n').toString());
    }

    /** Quarkus takes its own defaults from there, not from the mapping. */
    @Test
    void namesTheDefaultsThatQuarkusUses() throws IOException {
        var application = new Properties();
        application.load(new StringReader(Files.readString(APPLICATION)));
        var checked = new ArrayList<String>();
        for (var group : SettingsReader.GROUPS) {
            group.getProperties().forEach((name, otherwise) -> {
                if (name.startsWith("quarkus.")) {
                    checked.add(name);
                    assertThat(application.getProperty(name)).as(name).isEqualTo(otherwise);
                }
            });
        }
        assertThat(checked).hasSize(5);
    }

    @Test
    void everyGroupHasThePrefixThatTheServiceReadsItBy() {
        assertThat(SettingsReader.GROUPS)
                .allSatisfy(group -> assertThat(group.getPrefix())
                        .isEqualTo(group.getType()
                                .getAnnotation(ConfigMapping.class)
                                .prefix()));
    }

    /** Two properties of one variable could not be told apart. */
    @Test
    void everySettingHasAVariableOfItsOwn() {
        var variables = SettingsReader.GROUPS.stream()
                .map(ConfigClass::getProperties)
                .flatMap(properties -> properties.keySet().stream())
                .map(Variables::nameOf)
                .toList();
        assertThat(variables).hasSizeGreaterThan(40).doesNotHaveDuplicates();
    }
}
