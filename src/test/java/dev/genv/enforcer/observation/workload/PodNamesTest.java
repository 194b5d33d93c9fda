package dev.genv.enforcer.observation.workload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.PodFacts;
import dev.genv.enforcer.model.workload.Workload.Pod;
import java.util.List;
import org.junit.jupiter.api.Test;

class PodNamesTest {
    private static final String ID = "269c8a18400e27b14085c57f8e36f5b4d5471c140eb27e8b0f632c0565475551";
    private static final String UID = "81e09ae0-12ec-4ec5-94b8-51cda7906370";

    @Test
    void findsNamesInThoseOfLogFiles() {
        var names =
                names("kube-system_kube-proxy-6xsx9_" + UID, "kube-proxy-6xsx9_kube-system_kube-proxy-" + ID + ".log");
        assertThat(names.name(UID, ID)).isEqualTo(new Pod(UID, "kube-system", "kube-proxy-6xsx9", "kube-proxy"));
    }

    @Test
    void findsTheNamesOfAStaticPod() {
        var hash = "33d556edd3ae8ef21980288cef77ae8b";
        var names = names("kube-system_kube-apiserver-node.example_" + hash, "");
        assertThat(names.name(hash, ID)).isEqualTo(new Pod(hash, "kube-system", "kube-apiserver-node.example", null));
    }

    @Test
    void findsThePodByItsContainerAlone() {
        assertThat(names("", "train-0_ml_main-" + ID + ".log").name(UID, ID))
                .isEqualTo(new Pod(UID, "ml", "train-0", "main"));
    }

    @Test
    void ignoresTheContainerOfAnotherPod() {
        assertThat(names("ml_train-1_" + UID, "train-0_ml_main-" + ID + ".log").name(UID, ID))
                .isEqualTo(new Pod(UID, "ml", "train-1", null));
    }

    @Test
    void ignoresNamesThatKubernetesDoesNotGive() {
        for (var name : List.of("ML_train_", "ml_tr ain_", "ml_train\n_", "ml_<b>_", "train_", "ml__")) {
            assertThat(names(name + UID, name + "main-" + ID + ".log").name(UID, ID))
                    .as(name)
                    .isEqualTo(new Pod(UID, null, null, null));
        }
    }

    @Test
    void leavesOutWhatIsUnknown() {
        assertThat(PodNames.of(PodFacts.NONE).name(UID, null)).isEqualTo(new Pod(UID, null, null, null));
    }

    private static PodNames names(String pod, String container) {
        return PodNames.of(new PodFacts(List.of(pod), List.of(container)));
    }
}
